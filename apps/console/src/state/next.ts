/** The page that a person sees after the sign-in. */
import { navigate } from './route.ts'

/** Shows the sign-in, and afterwards this page again. */
export function signInFirst(): void {
  sessionStorage.setItem('next', location.pathname + location.search)
  navigate('/sign-in', true)
}

/** The page that a person wanted, once. */
export function takeNext(): string {
  const next = sessionStorage.getItem('next') ?? '/'
  sessionStorage.removeItem('next')
  // Same origin: only pages of the console write this value.
  return /^\/(?!\/)/.test(next) ? next : '/'
}
