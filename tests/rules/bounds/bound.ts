/**
 * The form of the tables of this folder: each map, set, list, text, queue, table, document, folder and engine object that the
 * rule finds, by file and name, with its limit and with what removes from it. Code in backquotes is evidence: it stands in the
 * file of the entry, or in the one that is named in front of it (`limits.ts: batch`). Without it the rule fails, so
 * that an entry does not outlive the limit that it names.
 */
export type Bound =
  /** Lasts as long as its process, connection, disk or engine. */
  | { readonly kind: 'lasting'; readonly limit: string; readonly removed: string }
  /** Ends with the call, request or file that fills it. */
  | { readonly kind: 'passing'; readonly limit: string }
  /** Only code of the program adds to it, a fixed number of times; or the person who runs a command. */
  | { readonly kind: 'own'; readonly why: string }

/** Files, and the names in each. */
export type Bounds = Readonly<Record<string, Readonly<Record<string, Bound>>>>

/** @param limit the most it holds @param removed what removes from it */
export const lasting = (limit: string, removed: string): Bound => ({ kind: 'lasting', limit, removed })

/** @param limit the most it holds until its call ends */
export const passing = (limit: string): Bound => ({ kind: 'passing', limit })

/** @param why others cannot make it grow */
export const own = (why: string): Bound => ({ kind: 'own', why })
