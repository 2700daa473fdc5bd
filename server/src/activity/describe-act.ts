/** Words for each act that owners see. The name of the subject follows. */
const words: Record<string, string> = {
  "account.create": "Opened the account",
  "account.delete": "Deleted the account",
  "adjustment.approve": "Approved the adjustment",
  "adjustment.reject": "Rejected the adjustment",
  "adjustment.request": "Requested or booked the adjustment",
  "alerts.change": "Changed the low-balance alert",
  "app.allow": "Allowed a disconnected app to connect again",
  "app.connect": "Connected the app",
  "app.disconnect": "Disconnected the app",
  "app_settings.change": "Changed the settings of connected apps",
  "app_settings.delete": "Turned off connected apps",
  "auto_top_up.delete": "Turned off automatic top-ups",
  "auto_top_up.set": "Changed automatic top-ups",
  "auto_top_up.stop": "Stopped automatic top-ups",
  "budget.approve_increase": "Approved a temporary increase of the budget",
  "budget.archive": "Archived the budget",
  "budget.change": "Changed the budget",
  "budget.create": "Created the budget",
  "budget.deny_increase": "Denied an increase of the budget",
  "budget.request_increase": "Requested an increase of the budget",
  "end_user_settings.change": "Changed how ids of end users are stored",
  "invitation.create": "Invited a member",
  "invitation.revoke": "Revoked an invitation",
  "key.change": "Changed the key",
  "key.create": "Created the key",
  "key.revoke": "Revoked the key",
  "key.rotate": "Rotated a key, which created",
  "member.change": "Changed the role of",
  "member.join": "Joined the account",
  "member.remove": "Removed the member",
  "search.refund": "Refunded a search",
  "session.end_all": "Signed out everywhere",
  "session.start": "Signed in",
  "wallet.create": "Created the wallet",
  "wallet.resume": "Resumed the wallet",
  "wallet.suspend": "Suspended the wallet",
  "webhook.change": "Changed the webhook",
  "webhook.create": "Created the webhook",
  "webhook.delete": "Deleted the webhook",
  "webhook.disable": "Disabled the webhook",
  "webhook.rotate_secret": "Rotated the signing secret of the webhook",
};

export const ownerActs: readonly string[] = Object.keys(words).toSorted();

/** A sentence without its subject, such as "Changed the key crawler". `name`: the name of the changed subject, if it has one. */
export function describeAct(act: string, name: string | null): string {
  const text = words[act] ?? act.replace(".", ": ").replaceAll("_", " ");
  return name === null ? text : `${text} ${name}`;
}
