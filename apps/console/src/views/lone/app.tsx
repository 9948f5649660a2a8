/** The pages that apps send a browser to: one piece of code, since the console itself never shows them. */
import type { Viewer } from '@selvedge/protocol/console'
import { Authorize } from './authorize.tsx'
import { Logout } from './logout.tsx'

export default function AppView(props: { viewer: Viewer | undefined; onDone: () => Promise<void> }) {
  return location.pathname === '/logout' ? <Logout {...props} /> : <Authorize {...props} />
}
