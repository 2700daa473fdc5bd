type Json = Record<string, unknown>;

/** Replaces every reference in an OpenAPI document by what it refers to. No component of ours contains itself. */
export function resolveReferences<Document extends object>(document: Document): Document {
  function resolve(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== "object" || value === null) return value;
    const { $ref, ...members } = value as Json;
    const resolved = Object.fromEntries(Object.entries(members).map(([name, member]) => [name, resolve(member)]));
    return typeof $ref === "string" ? { ...(resolve(find($ref)) as Json), ...resolved } : resolved;
  }

  function find(reference: string): unknown {
    const path = reference.replace(/^#\//, "").split("/");
    return path.reduce<unknown>((parent, name) => (parent as Json)[name], document);
  }

  return resolve(document) as Document;
}
