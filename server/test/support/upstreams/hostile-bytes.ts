import { hitAt, hitsBetween, upstreamText } from "./hostile-results.ts";

// Raw bytes that a hostile upstream sends instead of a valid HTTP response.

export interface RawAnswer {
  write: readonly string[];
  /** What happens to the connection after the last write. */
  afterwards: "hang" | "end" | "reset" | "repeat the last forever";
}

const words = `x-words: ${upstreamText}\r\n`;
const jsonType = `content-type: application/json\r\n${words}`;
const answer = JSON.stringify({ results: hitsBetween(1, 10) });
const forged = JSON.stringify({ results: [hitAt("https://forged.example/")] });
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const chunked = `HTTP/1.1 200 OK\r\n${jsonType}transfer-encoding: chunked\r\n\r\n`;
const headOf = (length: number | string): string => `HTTP/1.1 200 OK\r\n${jsonType}content-length: ${length}\r\n\r\n`;

/** A complete answer without a request. */
export const forgedAnswer = headOf(forged.length) + forged;
/** A complete answer sent before any request. */
export const greeting = `HTTP/1.1 200 OK\r\n${jsonType}connection: close\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`;

export const rawAnswers = {
  // Statuses that are not final or not valid.
  switching_protocols: {
    write: [`HTTP/1.1 101 Switching Protocols\r\n${words}upgrade: x\r\nconnection: upgrade\r\n\r\n`, upstreamText],
    afterwards: "hang",
  },
  continue_and_nothing: { write: ["HTTP/1.1 100 Continue\r\n\r\n"], afterwards: "end" },
  processing_and_nothing: { write: [`HTTP/1.1 102 ${upstreamText}\r\n\r\n`], afterwards: "hang" },
  early_hints_and_close: { write: [`HTTP/1.1 103 Early Hints\r\n${words}\r\n`], afterwards: "end" },
  endless_hints: {
    write: [`HTTP/1.1 103 Early Hints\r\n${words}\r\n`.repeat(100)],
    afterwards: "repeat the last forever",
  },
  status_of_zeros: { write: [`HTTP/1.1 000 ${upstreamText}\r\n${words}content-length: 0\r\n\r\n`], afterwards: "hang" },
  status_of_two_digits: { write: [`HTTP/1.1 99 ${upstreamText}\r\n\r\n`], afterwards: "end" },
  status_of_four_digits: { write: [`HTTP/1.1 2000 ${upstreamText}\r\n\r\n`], afterwards: "end" },
  status_of_letters: { write: [`HTTP/1.1 abc ${upstreamText}\r\n\r\n`], afterwards: "end" },

  // Not HTTP/1.1.
  not_http: { write: [`SSH-2.0-OpenSSH_9.2 ${upstreamText}\r\n`], afterwards: "end" },
  http_0_9: { write: [answer], afterwards: "end" },
  http_2: {
    write: [`HTTP/2.0 200 OK\r\n${jsonType}content-length: ${answer.length}\r\n\r\n${answer}`],
    afterwards: "end",
  },
  http_1_0: { write: [`HTTP/1.0 200 OK\r\n${jsonType}\r\n`, answer], afterwards: "end" },
  http_1_0_with_length: {
    write: [`HTTP/1.0 200 OK\r\n${jsonType}content-length: ${answer.length}\r\n\r\n`, answer],
    afterwards: "end",
  },
  http_1_0_reset: { write: [`HTTP/1.0 200 OK\r\n${jsonType}\r\n`, answer.slice(0, -9)], afterwards: "reset" },
  silent_end: { write: [], afterwards: "end" },

  // Headers.
  endless_headers: {
    write: ["HTTP/1.1 200 OK\r\n", `x-padding: ${upstreamText}\r\n`.repeat(100)],
    afterwards: "repeat the last forever",
  },
  endless_header: {
    write: ["HTTP/1.1 200 OK\r\nx-padding: ", "a".repeat(4096)],
    afterwards: "repeat the last forever",
  },
  endless_status_line: { write: ["HTTP/1.1 200 ", "a".repeat(4096)], afterwards: "repeat the last forever" },
  header_of_a_megabyte: {
    write: [`HTTP/1.1 200 OK\r\nx-padding: ${"a".repeat(1024 * 1024)}\r\n\r\n`],
    afterwards: "end",
  },
  ten_thousand_headers: {
    write: [`HTTP/1.1 200 OK\r\n${jsonType}${"x-padding: 1\r\n".repeat(10_000)}content-length: 0\r\n\r\n`],
    afterwards: "end",
  },
  header_without_name: {
    write: [`HTTP/1.1 200 OK\r\n: ${upstreamText}\r\n${jsonType}\r\n${answer}`],
    afterwards: "end",
  },
  header_with_null: { write: [`HTTP/1.1 200 OK\r\nx-null: \u0000\r\n${jsonType}\r\n${answer}`], afterwards: "end" },

  // Lengths.
  length_too_long: { write: [headOf(answer.length + 1), answer], afterwards: "end" },
  length_too_short: { write: [headOf(answer.length - 1) + answer], afterwards: "hang" },
  length_twice: {
    write: [`HTTP/1.1 200 OK\r\n${jsonType}content-length: 5\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`],
    afterwards: "hang",
  },
  length_negative: { write: [headOf(-1) + answer], afterwards: "hang" },
  length_beyond_numbers: { write: [headOf("9".repeat(40)) + answer], afterwards: "hang" },
  length_and_chunks: {
    write: [
      `HTTP/1.1 200 OK\r\n${jsonType}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n${chunk(answer)}0\r\n\r\n`,
    ],
    afterwards: "hang",
  },

  // Chunks.
  chunk_size_of_letters: { write: [`${chunked}xyz\r\n${answer}\r\n0\r\n\r\n`], afterwards: "hang" },
  chunk_size_beyond_numbers: { write: [`${chunked}${"f".repeat(20)}\r\n${answer}`], afterwards: "hang" },
  chunk_longer_than_said: { write: [`${chunked}5\r\n${answer}\r\n0\r\n\r\n`], afterwards: "hang" },
  chunks_without_end: { write: [chunked, chunk(answer)], afterwards: "hang" },
  chunks_cut_off: { write: [chunked, chunk(answer)], afterwards: "end" },
  endless_chunk_extension: { write: [`${chunked}5;`, "a".repeat(4096)], afterwards: "repeat the last forever" },
  endless_trailers: {
    write: [`${chunked}${chunk(answer)}0\r\n`, `x-trailer: ${upstreamText}\r\n`.repeat(100)],
    afterwards: "repeat the last forever",
  },

  // Resets, one at each stage.
  reset_in_status_line: { write: ["HTTP/1.1 2"], afterwards: "reset" },
  reset_after_status_line: { write: ["HTTP/1.1 200 OK\r\n"], afterwards: "reset" },
  reset_in_headers: { write: [`HTTP/1.1 200 OK\r\n${jsonType}content-le`], afterwards: "reset" },
  reset_after_headers: { write: [headOf(answer.length)], afterwards: "reset" },
  reset_in_body: { write: [headOf(answer.length), answer.slice(0, 20)], afterwards: "reset" },
  reset_between_chunks: { write: [chunked, chunk(answer)], afterwards: "reset" },
  reset_in_error_page: {
    write: [`HTTP/1.1 503 ${upstreamText}\r\n${words}content-length: 100\r\n\r\n<h1>${upstreamText}`],
    afterwards: "reset",
  },
  half_close: { write: [headOf(1000), '{"results": ['], afterwards: "end" },
} satisfies Record<string, RawAnswer>;
