import { describeInput } from "../check-response.ts";
import { fillIn } from "../fill-in.ts";
import type { FuzzFixture } from "../fuzz-fixture.ts";
import type { Input } from "../inputs.ts";
import { readOperations } from "../operations.ts";
import { type Exchange, openLane, renderInput, sendAlone } from "../wire.ts";
import { costCases } from "./cost-cases.ts";
import { type CostCase, findCost, findCostlyCases } from "./find-costly-cases.ts";
import { type Costs, formatMs } from "./judge-costs.ts";
import type { CostInput } from "./request-case.ts";

export interface CostFailure {
  description: string;
  command: string;
  /** The measurements. */
  response: string;
}

export interface CostOptions {
  timeoutMs: number;
  /** Generated inputs that may have blocked the event loop. */
  suspects: readonly Input[];
  /** Only cases whose name matches. */
  only: RegExp;
  /** Screens every size instead of the full one. */
  isThorough: boolean;
  /** Called for each measured case. */
  onCase: () => void;
}

/** Finds requests, upstream answers and lenses that cost too much CPU time. Nothing else may use the server meanwhile. */
export async function* measureCosts(fixture: FuzzFixture, options: CostOptions): AsyncGenerator<CostFailure> {
  const lanes = {
    public: openLane(fixture.addresses.public.port, options.timeoutMs),
    internal: openLane(fixture.addresses.internal.port, options.timeoutMs),
  };

  async function send(generated: Input): Promise<Exchange> {
    const { tenants, addresses } = fixture;
    const [tenant, otherTenant] = [0, 1].map((step) => tenants[(generated.tenant + step) % tenants.length] ?? {});
    const input = fillIn(generated, tenant ?? {}, otherTenant ?? {});
    const bytes = renderInput(input);
    const { listener } = input.operation;
    if (input.mutation) return sendAlone(addresses[listener].port, bytes, options.timeoutMs);
    return lanes[listener].send(bytes, input.method !== "HEAD");
  }

  async function measure(input: CostInput): Promise<number> {
    if ("call" in input) return measureCall(input.call);
    const { upstreamAnswer } = input;
    const queriesBefore = fixture.upstream.requests();
    fixture.upstream.answerWith(upstreamAnswer);
    const before = await fixture.cpu.read();
    await send(input.request);
    const after = await fixture.cpu.read();
    fixture.upstream.answerWith(undefined);
    if (upstreamAnswer !== undefined && fixture.upstream.requests() === queriesBefore)
      throw new Error("the upstream was not queried, so its answer was not measured");
    return after.cpuMicros - before.cpuMicros;
  }

  const screened = options.isThorough ? (["quarter", "half", "full"] as const) : (["full"] as const);
  try {
    for (const input of options.suspects) {
      const micros = await findCost<CostInput>({ request: input }, measure);
      if (micros === undefined) continue;
      yield {
        description: `${input.operation.name}: a generated input uses ${formatMs(micros)} ms of CPU`,
        command: describeInput(input, renderInput(input)),
        response: "",
      };
    }
    const cases = chooseCases(options);
    for await (const { case: found, costs, fault } of findCostlyCases(cases, measure, screened)) {
      const command = `npm run fuzz -- --inputs 0 --case "${found.name}"`;
      yield { description: `${found.name} ${fault}`, command, response: formatCosts(costs) };
    }
  } finally {
    lanes.public.close();
    lanes.internal.close();
  }
}

function* chooseCases({ only, onCase }: CostOptions): Generator<CostCase<CostInput>> {
  for (const each of costCases(readOperations())) {
    if (!only.test(each.name)) continue;
    onCase();
    yield each;
  }
}

function measureCall(call: () => void): number {
  const before = process.threadCpuUsage();
  call();
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
}

function formatCosts({ tiny, quarter, half, full }: Costs): string {
  return `CPU at a few bytes, 1/4, 1/2 and full size: ${[tiny, quarter, half, full].map(formatMs).join(", ")} ms`;
}
