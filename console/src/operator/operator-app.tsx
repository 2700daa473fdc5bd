import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Failure } from "../parts/states.tsx";
import { OperatorFrame } from "./operator-frame.tsx";
import { OperatorSignIn } from "./operator-sign-in.tsx";
import { operatorQuery } from "./queries.ts";

/** Served by the internal listener only: whoever reaches it is in the operator's network, and still needs a token. */
export function OperatorApp() {
  const { data, error, refetch } = useQuery(operatorQuery);
  if (error) return <Failure error={error} what="The console could not start." retry={refetch} />;
  if (!data) return <Skeleton height={240} m="xl" />;
  return data.operator === null ? <OperatorSignIn /> : <OperatorFrame operator={data.operator} />;
}
