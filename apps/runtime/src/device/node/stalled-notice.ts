/** Shows a person which methods and routes answer nothing. */
import type { Readiness } from '@selvedge/service-kit/lifecycle'
import type { Notices } from './notices.ts'

/** Raises the notice with the names while there are any, and clears it. */
export function showStalled(readiness: Pick<Readiness, 'onStalled'>, notices: Notices): void {
  readiness.onStalled((names) => {
    if (names.length > 0) notices.raise('requests_stalled', { stalled: names }, names)
    else notices.clear('requests_stalled')
  })
}
