import type { Viewer } from '@selvedge/protocol/console'
import type { IconName } from '../parts/icon.tsx'
import { exactTime } from '../parts/time.tsx'

/** Something that a person should do for the account, and what for. */
export interface Nudge {
  readonly name: string
  /** `bad` cannot be put away. */
  readonly kind: 'bad' | 'warn' | ''
  readonly icon: IconName
  readonly title: string
  readonly text: string
  /** Text of the link to the account page. */
  readonly action: string
}

/** Recovery codes of which a person is reminded to make new ones. */
const fewCodes = 2

function ofSignIn({ passkeys, hasPassword, recoveryCodes }: Viewer): Nudge | undefined {
  const ways = passkeys + (hasPassword ? 1 : 0)
  const icon = 'life-buoy'
  if (ways === 0) {
    const title = 'You can’t sign in again yet'
    return {
      name: 'first',
      kind: 'bad',
      icon,
      title,
      text: 'Add a passkey before you leave.',
      action: 'Add passkey',
    }
  }
  if (ways === 1 && recoveryCodes === 0) {
    const text = `You have ${passkeys === 1 ? 'one passkey' : 'a password'} and no recovery codes. Add a passkey or create codes.`
    return {
      name: 'only',
      kind: 'warn',
      icon,
      title: 'You could lock yourself out',
      text,
      action: 'Your account',
    }
  }
  if (recoveryCodes <= fewCodes) {
    const title =
      recoveryCodes === 0 ? 'You have no recovery codes' : `You have ${recoveryCodes} recovery codes left`
    const text = 'Your way back in if you lose every passkey.'
    return {
      name: 'codes',
      kind: recoveryCodes === 0 ? 'warn' : '',
      icon,
      title,
      text,
      action: 'Create codes',
    }
  }
  if (ways === 1 && passkeys === 1) {
    const text = 'You have one passkey. With another one on a second device, you lose nothing with the first.'
    return {
      name: 'second',
      kind: '',
      icon: 'fingerprint',
      title: 'Add a second passkey',
      text,
      action: 'Add passkey',
    }
  }
  return undefined
}

function ofTokens({ expiringTokens: { count, firstAt } }: Viewer): Nudge | undefined {
  if (firstAt === null) return undefined
  const title = count === 1 ? 'A developer token expires soon' : `${count} developer tokens expire soon`
  const when = `${count === 1 ? 'It expires' : 'The first expires'} on ${exactTime(firstAt)}.`
  const text = `${when} Programs that use it must get another one.`
  // Another token is another notice.
  return {
    name: `tokens ${firstAt}`,
    kind: 'warn',
    icon: 'key-round',
    title,
    text,
    action: 'Developer tokens',
  }
}

const severities: readonly Nudge['kind'][] = ['bad', 'warn', '']

/** What a person should do, the most severe first. */
export const nudgesOf = (viewer: Viewer): Nudge[] =>
  [ofTokens(viewer), ofSignIn(viewer)]
    .filter((each) => each !== undefined)
    .sort((one, other) => severities.indexOf(one.kind) - severities.indexOf(other.kind))
