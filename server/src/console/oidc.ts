export interface Oidc {
  name: string;
}
