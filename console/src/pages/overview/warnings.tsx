import { Button, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { summaryQuery, walletQuery } from "../../api/wallet.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Notice } from "../../parts/notice.tsx";
import { warn } from "./warn.ts";

export function Warnings({ walletId, isQuietAboutBalance }: { walletId: string; isQuietAboutBalance: boolean }) {
  const { mayChange } = useWallet();
  const wallet = useQuery(walletQuery(walletId)).data;
  const summary = useQuery(summaryQuery(walletId, "live")).data;
  if (!wallet || !summary) return undefined;
  const warnings = warn({ summary, price: wallet.price, isSuspended: wallet.suspended }).filter(
    ({ mayTopUp }) => !(isQuietAboutBalance && mayTopUp),
  );
  if (warnings.length === 0) return undefined;
  return (
    <>
      {warnings.map(({ tone, title, text, mayTopUp }) => (
        <Notice key={title} tone={tone} title={title}>
          <Text size="sm">{text}</Text>
          {mayTopUp && mayChange && (
            <Button component={Link} to="/w/$walletId/top-up" params={{ walletId } as never} size="xs">
              Top up
            </Button>
          )}
        </Notice>
      ))}
    </>
  );
}
