/** Who created something, as in the list of changes. */
export interface Creator {
  type: "person" | "key" | "operator";
  id: string | null;
  /** The address of the person or the name of the key. */
  name: string | null;
}

/** A SQL expression of type Creator. `id`: the column with the id of what was created; `acts`: those that create it. */
export function creatorOf(id: string, acts: readonly string[]): string {
  return `(
    select jsonb_build_object('type', c.actor, 'id', c.actor_id, 'name', case c.actor
      when 'person' then pb.name_person(c.actor_id)
      when 'key' then (select k.name from pb.keys k where k.id = c.actor_id)
    end)
    from pb.changes c
    where c.subject = ${id}::text and c.act in (${acts.map((act) => `'${act}'`).join(", ")})
    order by c.number limit 1
  )`;
}
