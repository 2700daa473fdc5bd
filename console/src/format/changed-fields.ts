type Fields = Record<string, unknown>;

/** The fields that an edit changed. Sending only these keeps concurrent edits from undoing each other. */
export function changedFields(before: Fields, after: Fields): Fields {
  return Object.fromEntries(
    Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
  );
}
