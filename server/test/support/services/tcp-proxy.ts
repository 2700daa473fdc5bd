import { type AddressInfo, connect, createServer, type Socket } from "node:net";

interface Fault {
  words: string;
  at: "request" | "answer";
  /** Cut closes both ends. Swallow leaves both open and forwards nothing. */
  how: "cut" | "swallow";
  whenDone: () => void;
}

interface Wire {
  client: Socket;
  server: Socket;
  serverBytes: number;
  doom: Fault | undefined;
  isSilent: boolean;
}

/** A proxy between a client and a server that tests can make fail. */
export class TcpProxy {
  readonly #wires = new Set<Wire>();
  readonly #listener = createServer((client) => this.#open(client));
  readonly #target: { host: string; port: number };
  #faults: Fault[] = [];
  #maxServerBytes = Number.POSITIVE_INFINITY;
  #isBlackhole = false;
  #isPaused = false;
  #connections = 0;
  #cuts = 0;

  constructor(target: { host: string; port: number }) {
    this.#target = target;
  }

  listen(): Promise<void> {
    return new Promise((resolve) => {
      this.#listener.listen(0, "127.0.0.1", resolve);
    });
  }

  /** The same URL through this proxy. */
  through(url: string): string {
    const changed = new URL(url);
    changed.hostname = "127.0.0.1";
    changed.port = String((this.#listener.address() as AddressInfo).port);
    return changed.href;
  }

  /** Number of connections accepted so far. */
  get connections(): number {
    return this.#connections;
  }

  /** Number of connections cut so far. */
  get cuts(): number {
    return this.#cuts;
  }

  /** Cuts every open connection. New ones are accepted. */
  cut(): void {
    for (const wire of this.#wires) this.#break(wire);
  }

  /** Cuts the connection on which the client next sends `words`; the server does not receive them. Resolves then. */
  cutRequest(words: string): Promise<void> {
    return this.#plant(words, "request", "cut");
  }

  /** Forwards `words` and cuts the connection when the server answers; no byte of the answer is forwarded. */
  cutAnswer(words: string): Promise<void> {
    return this.#plant(words, "answer", "cut");
  }

  /** Drops `words` and everything after it on that connection, without closing it. Resolves then. */
  swallowRequest(words: string): Promise<void> {
    return this.#plant(words, "request", "swallow");
  }

  /** Forwards `words` and drops the answer and everything after it, without closing. Resolves when it was answered. */
  swallowAnswer(words: string): Promise<void> {
    return this.#plant(words, "answer", "swallow");
  }

  /** Cuts each connection after the server has sent more than this on it. */
  cutAfterServerBytes(bytes: number): void {
    this.#maxServerBytes = bytes;
  }

  /** Forwards nothing and loses nothing, as if the server were suspended. Applies to new connections too. */
  pause(): void {
    this.#isPaused = true;
    this.#eachSocket((socket) => socket.pause());
  }

  resume(): void {
    this.#isPaused = false;
    this.#eachSocket((socket) => socket.resume());
  }

  /** Drops everything in both directions, including on new connections, like a network that loses packets. */
  blackhole(isOn: boolean): void {
    this.#isBlackhole = isOn;
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#eachSocket((socket) => socket.destroy());
      this.#listener.close(() => resolve());
    });
  }

  #open(client: Socket): void {
    this.#connections += 1;
    const server = connect(this.#target);
    const wire: Wire = { client, server, serverBytes: 0, doom: undefined, isSilent: false };
    this.#wires.add(wire);
    client.on("data", (chunk) => this.#fromClient(wire, chunk));
    server.on("data", (chunk) => this.#fromServer(wire, chunk));
    const ends = [
      [client, server],
      [server, client],
    ] as const;
    for (const [socket, other] of ends) {
      socket.setNoDelay();
      if (this.#isPaused) socket.pause();
      // A failed socket also emits close, which destroys the other side.
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        other.destroy();
        this.#wires.delete(wire);
      });
    }
  }

  #fromClient(wire: Wire, chunk: Buffer): void {
    if (this.#isBlackhole || wire.isSilent) return;
    const fault = this.#faults.find(({ words }) => chunk.includes(words));
    this.#faults = this.#faults.filter((each) => each !== fault);
    wire.doom ??= fault;
    if (fault?.at === "request") this.#fail(wire, fault);
    else wire.server.write(chunk);
  }

  #fromServer(wire: Wire, chunk: Buffer): void {
    if (this.#isBlackhole || wire.isSilent) return;
    wire.serverBytes += chunk.length;
    if (wire.doom) this.#fail(wire, wire.doom);
    else if (wire.serverBytes > this.#maxServerBytes) this.#break(wire);
    else wire.client.write(chunk);
  }

  #fail(wire: Wire, fault: Fault): void {
    if (fault.how === "cut") return this.#break(wire);
    wire.isSilent = true;
    fault.whenDone();
  }

  #break(wire: Wire): void {
    this.#cuts += 1;
    wire.client.resetAndDestroy();
    wire.server.destroy();
    this.#wires.delete(wire);
    wire.doom?.whenDone();
  }

  #plant(words: string, at: Fault["at"], how: Fault["how"]): Promise<void> {
    return new Promise((whenDone) => {
      this.#faults.push({ words, at, how, whenDone });
    });
  }

  #eachSocket(work: (socket: Socket) => void): void {
    for (const { client, server } of this.#wires) for (const socket of [client, server]) work(socket);
  }
}
