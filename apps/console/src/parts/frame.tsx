import type { ComponentChildren } from 'preact'
import { api } from '../api.ts'
import { navigate } from '../state/route.ts'
import { useHome } from '../state/viewer.ts'
import { Action } from './action.tsx'
import { Link } from './link.tsx'

const pages = [
  ['devices', 'Devices'],
  ['projects', 'Projects'],
  ['account', 'Account'],
  ['people', 'People'],
  ['audit', 'Audit log'],
] as const

/** The frame of every page of a signed-in person. */
export function Frame({ current, children }: { current: string; children: ComponentChildren }) {
  const { viewer, refresh } = useHome()
  const lacksCredential = !viewer.hasPassword && viewer.passkeys === 0
  const switchTo = async (event: Event) => {
    await api['session.switch']({ accountId: (event.target as HTMLSelectElement).value })
    await refresh()
    navigate('/')
  }
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header>
        <a class="brand" href="/">
          Selvedge
        </a>
        <nav aria-label="Pages">
          {pages.map(([path, title]) => (
            <Link key={path} to={`/${path}`} current={path === current}>
              {title}
            </Link>
          ))}
        </nav>
        <div class="who">
          {viewer.accounts.length > 1 && (
            <select aria-label="Account" value={viewer.accountId} onChange={switchTo}>
              {viewer.accounts.map(({ accountId, name }) => (
                <option key={accountId} value={accountId}>
                  {name}
                </option>
              ))}
            </select>
          )}
          <span class="email">{viewer.email}</span>
          <Action
            kind="quiet"
            run={async () => {
              await api['session.end']()
              await refresh()
            }}
          >
            Sign out
          </Action>
        </div>
      </header>
      {lacksCredential && (
        <p class="notice" role="status">
          You have no sign-in method yet. <Link to="/account">Add a passkey or a password</Link> now.
          Otherwise you cannot sign in again after this session.
        </p>
      )}
      <main id="main" key={viewer.accountId}>
        {children}
      </main>
    </>
  )
}
