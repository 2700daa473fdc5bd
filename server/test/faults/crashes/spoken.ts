/** What a server says on the wire to run one of its prepared statements, the first time and ever after. */
export const spoken = { hold: "hold\0", capture: "capture\0", release: "release\0" } as const;
