/** Values that no operator needs to change. The configuration includes them, so that tests can replace them. */
export const constants = {
  /** How long a stopping server keeps serving, so that load balancers can remove it. */
  drainMs: 10_000,
  /** Requests in flight in one server, limited by memory because waiting for an upstream uses no CPU, and the share of a wallet. */
  maxInFlight: 4_000,
  walletShare: 0.25,
  /** How long a request waits for a slot to look up its key. */
  lookUpWaitMs: 1_000,
  /** A server admits fewer requests after its event loop has been late for this long. */
  overloadedAfterMs: 500,
  /** How long a search waits for a primary, so that a shorter switchover fails no search. */
  databaseOutageMs: 8_000,
  /** How long a request that is not a search waits for a database connection, and how long its statements may take. */
  databaseRequestMs: 5_000,
  /** How long a request waits for Redis before this server counts alone. */
  redisTimeoutMs: 25,
  /** Searches per second and in flight of one wallet, across all servers, in addition to the limits of its keys. */
  walletRate: 2_000,
  walletInFlight: 2_000,
  /** The same for the test keys of one wallet. Test searches are free, so their limits are low. */
  walletTestRate: 20,
  walletTestInFlight: 20,
  /** End users that the test keys of one wallet can name per day (UTC). */
  testEndUsersPerDay: 1_000,
  /** Test events and replays of webhooks per minute of one wallet. */
  deliveriesPerMinute: 60,
  /** Days after which test searches are deleted. Two days of usage are recounted, so it is at least three. */
  retentionTestDays: 3,
  /** Maximum number of accounts that get a trial credit per day (UTC). `npm run migrate` stores it in the database. */
  trialsPerDay: 100,
  stripeUrl: "https://api.stripe.com",
};

export type Constants = typeof constants;
