import type { UsageOptions } from "@pennyblack/sdk";

export type UsageGroup = NonNullable<UsageOptions["group"]>[number];
