/** What the address of the editor holds: what its test begins with. */
export interface RewardSearch {
  model?: string | undefined;
  dataset?: string | undefined;
}
