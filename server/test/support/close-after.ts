import { after, type TestContext } from "node:test";

interface Service {
  close(): Promise<void>;
}

const open: Service[] = [];

// Registered on import, because a hook cannot be added inside another hook, such as `before`.
after(async () => {
  for (const service of open.toReversed()) await service.close();
});

/**
 * Closes a service after the test `t`, or without one after the last test of the file, the most recent first. Closing it
 * earlier is allowed.
 */
export function closeAfter<Closable extends Service>(service: Closable, t?: TestContext): Closable {
  const close = service.close.bind(service);
  let closing: Promise<void> | undefined;
  service.close = () => (closing ??= close());
  if (t) t.after(() => service.close());
  else open.push(service);
  return service;
}
