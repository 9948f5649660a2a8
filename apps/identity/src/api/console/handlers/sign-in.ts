import { RpcError } from '@selvedge/protocol'
import { limitKeyOf } from '@selvedge/service-kit/http'
import type { KnownBrowsers } from '../../../registry/credentials/known-browsers.ts'
import type { Passkeys } from '../../../registry/credentials/passkeys.ts'
import { type Passwords, PasswordsBusy } from '../../../registry/credentials/passwords.ts'
import type { RecoveryCodes } from '../../../registry/credentials/recovery-codes.ts'
import type { People, Person } from '../../../registry/people/people.ts'
import type { Audit } from '../../../storage/audit/audit.ts'
import type { SharedLimiter } from '../../../storage/replicas/shared-limiter.ts'
import type { ConsoleContext, ConsoleHandlers } from '../context.ts'
import type { Enter } from '../enter.ts'

export interface SignInParts {
  readonly people: People
  readonly passkeys: Passkeys
  readonly passwords: Passwords
  readonly recoveryCodes: RecoveryCodes
  readonly audit: Audit
  readonly enter: Enter
  readonly knownBrowsers: KnownBrowsers
  /**
   * Failed tries from one network address, of one person from one network address, of one person from all browsers that are not
   * known, and from one that is.
   */
  readonly tries: Readonly<Record<'address' | 'person' | 'strangers' | 'browser', SharedLimiter>>
}

const wrong = () => new RpcError('credentials_invalid', 'wrong e-mail address, password or recovery code')
/** The sign-in methods. Neither an answer nor its time shows whether an address is known. */
export function signInHandlers(parts: SignInParts) {
  const { people, passkeys, passwords, recoveryCodes, audit, tries, enter, knownBrowsers } = parts

  /** Where a try counts: a browser that the person used before has a share of its own, which strangers cannot use up. */
  async function sharesOf(email: string, person: Person | undefined, context: ConsoleContext) {
    const network = limitKeyOf(context.address)
    if (person && (await knownBrowsers.has(person.personId, context.jkt)))
      return [[tries.browser, `${person.personId} ${context.jkt}`]] as const
    return [
      [tries.address, network],
      [tries.person, `${email} ${network}`],
      [tries.strangers, email],
    ] as const
  }

  /** One attempt with a secret: each failure delays the next one for the same person, and from the same address. */
  async function attempt(
    email: string,
    context: ConsoleContext,
    check: (person: Person | undefined) => Promise<boolean>,
  ) {
    const person = await people.byEmail(email)
    const keys = await sharesOf(email, person, context)
    // In this order: what is refused for an address uses up nothing of a person.
    for (const [limiter, key] of keys) {
      const wait = await limiter.take(key)
      if (wait === 0) continue
      context.retryAfter = wait
      throw new RpcError('busy', `too many tries; wait ${wait} seconds`, {
        hint: 'Passkeys are not limited, nor is a browser in which you signed in before.',
      })
    }
    const isRight = await check(person).catch((cause) => {
      if (!(cause instanceof PasswordsBusy)) throw cause
      context.retryAfter = 5
      throw new RpcError('busy', 'too many sign-ins at the same time; wait 5 seconds')
    })
    if (person && isRight) {
      for (const [limiter, key] of keys) await limiter.giveBack(key)
      return person
    }
    const [membership] = person ? await people.memberships(person.personId) : []
    await audit.record({
      accountId: membership?.accountId ?? '',
      actor: email,
      action: 'session.create',
      address: context.address,
      outcome: 'refused',
      detail: 'wrong secret',
    })
    throw wrong()
  }

  return {
    'sign_in.passkey.begin': () => passkeys.beginSignIn(),
    'sign_in.passkey.finish': async ({ challenge, response }, _caller, context) => {
      const person = await people.byId(await passkeys.finishSignIn(challenge, response))
      if (!person) throw wrong()
      return enter(person, 'passkey', context)
    },
    'sign_in.password': async ({ email, password }, _caller, context) => {
      const check = (person: Person | undefined) => passwords.verify(password, person?.password ?? '')
      return enter(await attempt(email, context, check), 'password', context)
    },
    'sign_in.recovery': async ({ email, code }, _caller, context) => {
      const check = (person: Person | undefined) => recoveryCodes.use(person?.personId ?? '', code)
      return enter(await attempt(email, context, check), 'recovery code', context)
    },
  } satisfies ConsoleHandlers
}
