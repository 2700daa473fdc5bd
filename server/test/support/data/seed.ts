/** For random data: the same in every run of `npm run check`. `npm test -- --seed 7` uses another one. */
export const seed = Number(process.env["PENNYBLACK_TEST_SEED"] ?? 20_261_118);
