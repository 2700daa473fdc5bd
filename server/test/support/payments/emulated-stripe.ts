import { createServer, type IncomingMessage } from "node:http";
import { createEmulator, type Emulator } from "emulate";
import { listen } from "../services/listen.ts";

// A third-party Stripe emulator, for the checkout test. It supports prices only by id, and its sessions lack the amount, the
// currency and the payment. A proxy in front of it creates the price and adds these three fields to responses. Everything
// else comes from the emulator: ids, checkout page, completion, and the signed webhook, which it sends directly to the server.

export interface EmulatedStripe {
  url: string;
  /** Sends later events to this URL, signed with the secret. */
  sendEventsTo(webhookUrl: string, secret: string): Promise<void>;
  /** Presses "Pay" on the checkout page. */
  pay(checkoutUrl: string): Promise<void>;
  close(): Promise<void>;
}

export async function startEmulatedStripe(): Promise<EmulatedStripe> {
  const amounts = new Map<string, number>();
  let emulator: Emulator | undefined;

  async function forward(request: { method: string; path: string; authorization: string; form?: URLSearchParams }) {
    const { method, authorization, form } = request;
    const response = await fetch(`${emulator?.url}${request.path}`, {
      method,
      headers: { authorization, "content-type": "application/x-www-form-urlencoded" },
      ...(form && { body: form.toString() }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  async function createSession(authorization: string, form: URLSearchParams) {
    const make = async (path: string, fields: Record<string, string>): Promise<string> =>
      String((await forward({ method: "POST", path, authorization, form: new URLSearchParams(fields) })).body["id"]);
    const cents = form.get("line_items[0][price_data][unit_amount]") ?? "";
    const product = await make("/v1/products", { name: "Search wallet top-up" });
    const price = await make("/v1/prices", { product, currency: "usd", unit_amount: cents });
    const plain = new URLSearchParams([...form].filter(([name]) => !name.includes("[price_data]")));
    plain.set("line_items[0][price]", price);
    const made = await forward({ method: "POST", path: "/v1/checkout/sessions", authorization, form: plain });
    amounts.set(String(made.body["id"]), Number(cents));
    return made;
  }

  async function answer(request: IncomingMessage) {
    let text = "";
    for await (const chunk of request as AsyncIterable<Buffer>) text += chunk.toString();
    const { method = "", url: path = "" } = request;
    const authorization = request.headers.authorization ?? "";
    const form = new URLSearchParams(text);
    if (`${method} ${path}` === "POST /v1/checkout/sessions") return createSession(authorization, form);
    const reply = await forward({ method, path, authorization, ...(method === "POST" && { form }) });
    const id = String(reply.body["id"]);
    const missing = { amount_total: amounts.get(id), currency: "usd", payment_intent: `pi_of_${id}` };
    return amounts.has(id) ? { ...reply, body: { ...reply.body, ...missing } } : reply;
  }

  const bridge = createServer((request, response) => {
    answer(request).then(
      ({ status, body }) =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
      () => response.destroy(),
    );
  });
  const { url, close } = await listen(bridge);
  return {
    url,
    async sendEventsTo(webhookUrl, secret) {
      const seed = { stripe: { webhooks: [{ url: webhookUrl, events: ["*"], secret }] } };
      emulator = await createEmulator({ service: "stripe", port: 0, seed });
    },
    async pay(checkoutUrl) {
      await fetch(`${checkoutUrl}/complete`, { method: "POST", redirect: "manual" });
    },
    async close() {
      await close();
      await emulator?.close();
    },
  };
}
