/** Why `npm run dev` cannot go on: a sentence for a person, with a next step. */
export class CannotStart extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
