import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { ErrorState } from "../components/states.tsx";
import { OperatorLayout } from "./operator-layout.tsx";
import { OperatorSignIn } from "./operator-sign-in.tsx";
import { operatorQuery } from "./queries.ts";

/** Served only on the internal listener. Sign-in requires a token in addition. */
export function OperatorApp() {
  const { data, error, refetch } = useQuery(operatorQuery);
  if (error) return <ErrorState error={error} title="Couldn't load the console." onRetry={refetch} />;
  if (!data) return <Skeleton height={240} m="xl" />;
  return data.operator === null ? <OperatorSignIn /> : <OperatorLayout operator={data.operator} />;
}
