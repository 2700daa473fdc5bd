/** The smallest UUIDv7 of a moment, as pb.uuid_floor gives it: two of them bound a stretch of time in the space of ids. */
export function firstIdOf(moment: Date): string {
  const time = moment.getTime().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}
