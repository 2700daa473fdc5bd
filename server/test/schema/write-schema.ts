import { renameSync, writeFileSync } from "node:fs";
import { createTestDatabase } from "../support/services/database.ts";
import { dumpSchema, schemaFile } from "./dump-schema.ts";

// npm run schema: writes server/sql/schema.sql. Needs the PostgreSQL of the tests.

const database = await createTestDatabase();
writeFileSync(`${schemaFile}.new`, dumpSchema(database.superuserUrl));
renameSync(`${schemaFile}.new`, schemaFile);
await database.drop();
