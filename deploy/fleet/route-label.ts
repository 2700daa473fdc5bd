import { connect } from "node:net";
import { FleetFault } from "../../server/src/operator/operator-client.ts";

/** Routes the keys of an account to a cell, in a HAProxy that runs. The change is lost when HAProxy is restarted. */
export async function routeLabel(socket: string, label: string, cell: string): Promise<void> {
  const maps = await send(socket, "show map");
  const map = /\((\S*cells\.map)\)/.exec(maps)?.[1];
  if (map === undefined) throw new FleetFault(`HAProxy at ${socket} has no map of cells.`);
  const isListed = (await send(socket, `show map ${map}`)).split("\n").some((line) => line.split(" ")[1] === label);
  const answer = await send(socket, `${isListed ? "set" : "add"} map ${map} ${label} ${cell}`);
  if (answer.trim() !== "") throw new FleetFault(`HAProxy at ${socket}: ${answer.trim()}`);
}

function send(path: string, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const connection = connect(path, () => connection.end(`${command}\n`));
    connection.setTimeout(2_000, () => connection.destroy(new FleetFault(`HAProxy at ${path} does not respond.`)));
    connection.on("data", (chunk) => {
      answer += String(chunk);
    });
    connection.on("end", () => resolve(answer));
    connection.on("error", reject);
  });
}
