/** The page that a person sees after the sign-in. */
import { navigate } from './route.ts'

/** Shows the sign-in, and afterwards this page again. @param email filled in, if an app has named one */
export function signInFirst(email = ''): void {
  sessionStorage.setItem('next', location.pathname + location.search)
  sessionStorage.setItem('email', email)
  navigate('/sign-in', true)
}

/** The page that a person wanted, once. */
export function takeNext(): string {
  const next = sessionStorage.getItem('next') ?? '/'
  sessionStorage.removeItem('next')
  sessionStorage.removeItem('email')
  // Same origin: only pages of the console write this value.
  return /^\/(?!\/)/.test(next) ? next : '/'
}

/** The e-mail address that an app has named for the sign-in; "" without one. */
export const namedEmail = (): string => sessionStorage.getItem('email') ?? ''
