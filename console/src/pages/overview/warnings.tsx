import { Button, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { summaryQuery, walletQuery } from "../../api/wallet.ts";
import { Notice } from "../../components/notice.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { getWarnings } from "./get-warnings.ts";

export function Warnings({ walletId, hideBalance }: { walletId: string; hideBalance: boolean }) {
  const { canEdit } = useWallet();
  const wallet = useQuery(walletQuery(walletId)).data;
  const summary = useQuery(summaryQuery(walletId, "live")).data;
  if (!wallet || !summary) return undefined;
  const warnings = getWarnings({ summary, price: wallet.price, isSuspended: wallet.suspended }).filter(
    ({ canTopUp }) => !(hideBalance && canTopUp),
  );
  if (warnings.length === 0) return undefined;
  return (
    <>
      {warnings.map(({ tone, title, text, canTopUp }) => (
        <Notice key={title} tone={tone} title={title}>
          <Text size="sm">{text}</Text>
          {canTopUp && canEdit && (
            <Button component={Link} to="/w/$walletId/top-up" params={{ walletId } as never} size="xs">
              Top up
            </Button>
          )}
        </Notice>
      ))}
    </>
  );
}
