/** Passwords: argon2id (RFC 9106) in the form of its reference implementation, and what makes one acceptable. */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { minPasswordLength } from '@selvedge/protocol/console'
import { createWorkCount, type EndWork } from '@selvedge/service-kit/work'

const derive = promisify(argon2)
/** OWASP's first choice of equal strength: 19 MiB, two passes, one lane. */
const cost = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }
/** Maximum parallel derivations: each needs 19 MiB and a thread of the pool for about 20 ms. */
const atOnce = 2
/** Maximum sign-ins that wait for their turn; beyond it, a sign-in is refused at once. */
const longestQueue = 50

/** More sign-ins by password than this machine can check. */
export class PasswordsBusy extends Error {
  override readonly name = 'PasswordsBusy'
}

export interface Passwords {
  /** @returns a PHC string @throws PasswordsBusy */
  hash(password: string): Promise<string>
  /** The check of an empty hash needs the same time as any other, and always fails. @throws PasswordsBusy */
  verify(password: string, hash: string): Promise<boolean>
}

export function createPasswords(): Passwords {
  const waiting: (() => void)[] = []
  const derivations = createWorkCount('passwords')

  /** Resolves when a derivation ends: the next one has its place at once, so that no later sign-in comes before it. */
  function turn(): Promise<EndWork> {
    if (waiting.length >= longestQueue) throw new PasswordsBusy('too many passwords are being checked')
    return new Promise((resolve) => waiting.push(() => resolve(derivations.begin())))
  }

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const end = derivations.underWay < atOnce ? derivations.begin() : await turn()
    try {
      return await work()
    } finally {
      end()
      waiting.shift()?.()
    }
  }

  const tagOf = (password: string, nonce: Buffer, { memory, passes, parallelism, tagLength } = cost) =>
    inTurn(() =>
      derive('argon2id', {
        message: password.normalize('NFKC'),
        nonce,
        memory,
        passes,
        parallelism,
        tagLength,
      }),
    )

  return {
    async hash(password) {
      const nonce = randomBytes(16)
      const tag = await tagOf(password, nonce)
      return `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${base64(nonce)}$${base64(tag)}`
    },
    async verify(password, hash) {
      const parsed = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/.exec(hash)
      if (!parsed) {
        await tagOf(password, Buffer.alloc(16))
        return false
      }
      const [, memory, passes, parallelism, nonce, expected] = parsed as unknown as string[]
      const tag = Buffer.from(expected!, 'base64')
      const found = await tagOf(password, Buffer.from(nonce!, 'base64'), {
        memory: Number(memory),
        passes: Number(passes),
        parallelism: Number(parallelism),
        tagLength: tag.length,
      })
      return timingSafeEqual(found, tag)
    },
  }
}

const base64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '')

/**
 * What is wrong with a new password, in words; undefined where it will do. Length, and lists of passwords that were found in
 * breaches, are what helps (NIST SP 800-63B-4 § 3.1.1.2); rules on kinds of characters do not.
 */
export async function problemOf(password: string, email: string): Promise<string | undefined> {
  if ([...password].length < minPasswordLength)
    return `it is shorter than ${minPasswordLength} characters; a few words in a row are easy to remember`
  const { wasBreached } = await import('./breached-passwords.lazy.ts')
  const plain = password.toLowerCase()
  // From the first letter to the last one.
  const core = /[a-z].*[a-z]/s.exec(plain)?.[0] ?? ''
  if (wasBreached(plain) || wasBreached(core))
    return 'it is, or is made from, one of the passwords that are tried first because they were found in breaches'
  if (new Set(plain).size < 5) return 'it repeats a few characters'
  const [name = ''] = email.split('@')
  if (plain.includes(email.toLowerCase()) || (name.length > 3 && plain.includes(name.toLowerCase())))
    return 'it holds your e-mail address'
  return undefined
}
