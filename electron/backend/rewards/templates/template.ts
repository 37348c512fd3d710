/** A starting point that a person reads and edits. Its code holds all that it is: name and words are its head. */
export interface RewardTemplate {
  id: string;
  code: string;
}
