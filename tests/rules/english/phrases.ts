/** Phrases that are never right in this project, each with what to write instead. */

export interface Phrase {
  /** Matches the phrase in any case. */
  readonly never: RegExp
  readonly instead: string
}

export const phrases: readonly Phrase[] = [
  { never: /\bwhoever\b/i, instead: 'the caller, every client that' },
  { never: /\bsome(?:body|one) else\b/i, instead: 'another user, another client' },
  { never: /\bsomebody\b/i, instead: 'a person, a client, an attacker' },
  { never: /\banybody\b/i, instead: 'anyone, any client' },
  { never: /\beverybody\b/i, instead: 'everyone, every client' },
  { never: /\baffairs?\b/i, instead: 'responsibility' },
  { never: /\bways in\b/i, instead: 'sign-in methods' },
  { never: /\bnot good\b/i, instead: 'not valid, expired, revoked' },
  { never: /\b(?:is|are|stays?) good (?:once|until|for one)\b/i, instead: 'is valid, works once' },
  { never: /\bbelong together\b/i, instead: 'match' },
  { never: /\bthis very\b/i, instead: 'this' },
  { never: /\b(?:goes|gone) by\b/i, instead: 'uses, depends on; passed' },
  { never: /\bwhat is of\b/i, instead: 'name the thing' },
  { never: /\bown word\b/i, instead: 'a message of, proves the identity of' },
  { never: /\bword of (?:itself|mouth)\b/i, instead: 'proof of identity' },
  { never: /\b(?:takes|taken|took) back\b/i, instead: 'revokes, refunds' },
  { never: /\bto and fro\b/i, instead: 'forward and back' },
  { never: /\bin vain\b/i, instead: 'without effect' },
  { never: /\b(?:is|are|was|were) told\b/i, instead: 'is sent, is notified, is configured' },
  { never: /\btold of\b/i, instead: 'called with, notified of' },
  { never: /\band the like\b/i, instead: 'name two examples' },
  { never: /\bthat none\b/i, instead: 'which no …' },
  { never: /\bcame of\b/i, instead: 'was issued with, resulted from' },
  { never: /\bbegins? anew\b/i, instead: 'starts again' },
  { never: /\bmetres a second\b/i, instead: 'metres per second' },
  { never: /\bas (?:they|it) stands?\b/i, instead: 'unchanged' },
  { never: /\bstands there\b/i, instead: 'is in' },
  { never: /\b(?:for good|failed for good)\b/i, instead: 'permanently' },
  { never: /\b(?:mend|mends|mended|liven|livened|remembrance)\b/i, instead: 'fix, wake up, cache' },
  { never: /\bpatience\b/i, instead: 'timeout' },
  { never: /\bat most once is\b/i, instead: 'limit' },
  { never: /\bas long as it is so\b/i, instead: 'while' },
  { never: /\bon a way that\b/i, instead: 'over a channel that' },
  { never: /\bredeploy that is none\b/i, instead: 'unchanged redeploy' },
  { never: /\bof the call is another one\b/i, instead: 'is wrong' },
  { never: /\byour word to\b/i, instead: 'lets a program' },
  { never: /\bthe cloud (?:comes|is) back\b/i, instead: 'reconnects' },
  { never: /\b(?:tokens?|sessions?|codes?|certificates?) (?:has|have) ended\b/i, instead: 'has expired' },
]
