import { type AddressInfo, connect, createServer, type Socket } from "node:net";

interface Fault {
  words: string;
  at: "request" | "answer";
  /** Cut: both ends learn of it at once. Swallow: neither does, and nothing passes any more. */
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

/** A wire between a client and a server that breaks when it is told to. */
export class TcpProxy {
  readonly #wires = new Set<Wire>();
  readonly #listener = createServer((client) => this.#open(client));
  readonly #target: { host: string; port: number };
  #faults: Fault[] = [];
  #mostServerBytes = Number.POSITIVE_INFINITY;
  #isBlackhole = false;
  #isPaused = false;
  #cuts = 0;

  constructor(target: { host: string; port: number }) {
    this.#target = target;
  }

  listen(): Promise<void> {
    return new Promise((resolve) => {
      this.#listener.listen(0, "127.0.0.1", resolve);
    });
  }

  /** The same address, through this wire. */
  through(url: string): string {
    const changed = new URL(url);
    changed.hostname = "127.0.0.1";
    changed.port = String((this.#listener.address() as AddressInfo).port);
    return changed.href;
  }

  /** How many connections were broken on purpose. */
  get cuts(): number {
    return this.#cuts;
  }

  /** Breaks every connection at once. New ones are let in. */
  cut(): void {
    for (const wire of this.#wires) this.#break(wire);
  }

  /** Breaks the connection on which the client next says `words`; the server never hears them. Resolves then. */
  cutRequest(words: string): Promise<void> {
    return this.#plant(words, "request", "cut");
  }

  /** Lets the server hear `words`, and breaks that connection when it answers: nothing of that arrives. */
  cutAnswer(words: string): Promise<void> {
    return this.#plant(words, "answer", "cut");
  }

  /** The server never hears `words`, and that connection is silent from then on, without being closed. Resolves then. */
  swallowRequest(words: string): Promise<void> {
    return this.#plant(words, "request", "swallow");
  }

  /** Lets the server hear `words` and keeps its answer back for good, without closing. Resolves when it has answered. */
  swallowAnswer(words: string): Promise<void> {
    return this.#plant(words, "answer", "swallow");
  }

  /** Breaks each connection once the server has said more than this on it. */
  cutAfterServerBytes(bytes: number): void {
    this.#mostServerBytes = bytes;
  }

  /** Nothing passes in either direction and nothing is lost, as if a server stood still. New ones wait too. */
  pause(): void {
    this.#isPaused = true;
    this.#eachSocket((socket) => socket.pause());
  }

  resume(): void {
    this.#isPaused = false;
    this.#eachSocket((socket) => socket.resume());
  }

  /** What either side says is swallowed, also on new connections: a network that drops packets. */
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
      // A broken socket also closes, and that takes down the other side.
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
    else if (wire.serverBytes > this.#mostServerBytes) this.#break(wire);
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
