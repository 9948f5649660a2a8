/** Lists of revoked tokens, as everything that checks tokens without a registry of its own follows them. */
export {
  createRevocationFeed,
  type FeedTrouble,
  type ListSource,
  type ListStorage,
  type RevocationFeed,
} from './feed.ts'
export { type FollowedLists, openFollowedLists, type Revocable } from './followed-lists.ts'
export { type LiveList, restartedAt, type StoredLists, storedLists } from './lists.ts'
