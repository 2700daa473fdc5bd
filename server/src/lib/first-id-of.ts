/** The smallest UUIDv7 of a time, the same as pb.uuid_floor. Used to filter ids by time. */
export function firstIdOf(at: Date): string {
  const time = at.getTime().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}
