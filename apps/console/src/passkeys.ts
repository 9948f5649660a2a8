import { api } from './api.ts'
import { Explained } from './failures.ts'

/** Loaded with the first use: most pages never need it. */
const browser = () => import('@simplewebauthn/browser')

/** Messages for errors of the browser or the authenticator. */
function explainBrowser(cause: unknown): never {
  const { name } = cause as Error
  if (name === 'NotAllowedError')
    throw new Explained('No passkey was used: the request was cancelled or timed out.')
  if (name === 'InvalidStateError') throw new Explained('This device already has a passkey for you.')
  if (name === 'SecurityError')
    throw new Explained(`Passkeys don’t work at ${location.host}: they need HTTPS, or localhost.`)
  throw new Explained('This browser couldn’t use a passkey. Try again, or use another sign-in method.')
}

export async function signInWithPasskey(): Promise<void> {
  const [{ startAuthentication }, begun] = await Promise.all([browser(), api['sign_in.passkey.begin']()])
  const { challenge, options } = begun
  const response = await startAuthentication({ optionsJSON: options as never }).catch(explainBrowser)
  await api['sign_in.passkey.finish']({ challenge, response: { ...response } })
}

export async function addPasskey(name: string): Promise<void> {
  const [{ startRegistration }, begun] = await Promise.all([browser(), api['passkey.begin']()])
  const { challenge, options } = begun
  const response = await startRegistration({ optionsJSON: options as never }).catch(explainBrowser)
  await api['passkey.finish']({ challenge, response: { ...response }, name })
}

/** A first guess at what to call the passkey of this device. */
export function deviceName(): string {
  const system = /Android|iPhone|iPad|Mac|Windows|CrOS|Linux/.exec(navigator.userAgent)?.[0] ?? 'this device'
  const browser = /Firefox|Edg|Chrome|Safari/.exec(navigator.userAgent)?.[0]?.replace('Edg', 'Edge')
  return browser ? `${browser} on ${system}` : system
}
