/** Marks each prepared statement of the wallet in the bytes a server sends, both when it is prepared and when it runs. */
export const walletStatements = { hold: "hold\0", capture: "capture\0", release: "release\0" } as const;
