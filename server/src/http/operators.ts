import { createHash, timingSafeEqual } from "node:crypto";

/** Someone who runs the service. The name is for the log, the token opens /operator/* on the internal listener. */
export interface Operator {
  name: string;
  token: string;
}

/** Finds who sent `Authorization: Bearer <token>`. Every token is compared, each in constant time. */
export function createFindOperator(operators: readonly Operator[]): (authorization?: string) => Operator | undefined {
  const known = operators.map((operator) => ({ operator, digest: digestOf(operator.token) }));
  return function findOperator(authorization) {
    const token = /^bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
    if (token === undefined) return undefined;
    const digest = digestOf(token);
    return known.filter((each) => timingSafeEqual(each.digest, digest))[0]?.operator;
  };
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
