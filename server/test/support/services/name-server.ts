import { createSocket } from "node:dgram";
import { once } from "node:events";
import { isIPv4 } from "node:net";

export interface NameServer {
  /** Host and port. */
  address: string;
  /** The names that were queried, with repetitions. */
  queried: string[];
  close(): Promise<void>;
}

const types = { 1: "A", 28: "AAAA" } as const;

/** Answers queries for the addresses of these names over UDP. It never answers queries for other names. */
export async function startNameServer(names: Record<string, readonly string[]>): Promise<NameServer> {
  const queried: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (query, { port, address }) => {
    const { name, type, end } = readQuestion(query);
    queried.push(name);
    const addresses = names[name]?.filter((each) => types[type] === (isIPv4(each) ? "A" : "AAAA"));
    if (addresses) socket.send(answer(query.subarray(0, end), type, addresses), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    address: `127.0.0.1:${socket.address().port}`,
    queried,
    async close() {
      socket.close();
      await once(socket, "close");
    },
  };
}

const headerLength = 12;

function readQuestion(query: Buffer): { name: string; type: keyof typeof types; end: number } {
  const labels: string[] = [];
  let at = headerLength;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1) as keyof typeof types;
  return { name: labels.join(".").toLowerCase(), type, end: at + 5 };
}

function answer(question: Buffer, type: number, addresses: readonly string[]): Buffer {
  const header = Buffer.from(question.subarray(0, headerLength));
  // A response without an error, recursion available, with one question and no records but the answers.
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(addresses.length, 6);
  header.writeUInt32BE(0, 8);
  const records = addresses.map((address) => {
    const bytes = isIPv4(address) ? Buffer.from(address.split(".").map(Number)) : ipv6Bytes(address);
    const record = Buffer.alloc(headerLength);
    // A pointer to the name in the question, the type, the class IN, a time to live of 0, and the length.
    record.writeUInt16BE(0xc000 | headerLength, 0);
    record.writeUInt16BE(type, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt16BE(bytes.length, 10);
    return Buffer.concat([record, bytes]);
  });
  return Buffer.concat([header, question.subarray(headerLength), ...records]);
}

/** Of an address without `::`. */
function ipv6Bytes(address: string): Buffer {
  return Buffer.from(
    address
      .split(":")
      .map((group) => group.padStart(4, "0"))
      .join(""),
    "hex",
  );
}
