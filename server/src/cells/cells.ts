export { nameCell } from "./name-cell.ts";
