import type { PlantedFault } from "./planted-fault.ts";

const migrateTest = "src/db/migrate.test";

export const schemaFaults: PlantedFault[] = [
  {
    id: "edited-baseline-accepted",
    description: "a database with another baseline of the same name is migrated",
    file: "server/src/db/migrate.ts",
    find: "boolean => found !== checksum;",
    replace: "boolean => found === undefined;",
    tests: [migrateTest],
    caughtBy: "a database with another migration is refused, unless --reset deletes its data",
  },
  {
    id: "reset-of-known-database",
    description: "--reset deletes the data of a database of this version",
    file: "server/src/db/migrate.ts",
    find: "if (await hasOtherMigrations(client, files)) {",
    replace: "if (reset || (await hasOtherMigrations(client, files))) {",
    tests: [migrateTest],
    caughtBy: "a database with another migration is refused, unless --reset deletes its data",
  },
];
