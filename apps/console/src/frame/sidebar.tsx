import { useEffect, useRef } from 'preact/hooks'
import { api } from '../api.ts'
import { useAction } from '../parts/action.tsx'
import { capital } from '../parts/capital.ts'
import { Icon, type IconName } from '../parts/icon.tsx'
import { Link } from '../parts/link.tsx'
import { Mark } from '../parts/mark.tsx'
import { Menu } from '../parts/menu.tsx'
import { navigate, usePath } from '../state/route.ts'
import { type Theme, themes, useTheme } from '../state/theme.ts'
import { useHome } from '../state/viewer.ts'

interface Entry {
  readonly to: string
  readonly title: string
  readonly icon: IconName
}

/** Pages of the console, in their groups. */
export const pages: readonly (readonly [group: string, entries: readonly Entry[]])[] = [
  [
    'Fleet',
    [
      { to: '/devices', title: 'Devices', icon: 'cpu' },
      { to: '/projects', title: 'Projects', icon: 'layers' },
    ],
  ],
  [
    'Account',
    [
      { to: '/people', title: 'People', icon: 'users' },
      { to: '/audit', title: 'Audit log', icon: 'scroll-text' },
      { to: '/account', title: 'Your account', icon: 'shield-check' },
    ],
  ],
]

export function Sidebar({ current, onFind }: { current: string; onFind: () => void }) {
  const path = usePath()
  const side = useRef<HTMLElement>(null)
  // On a narrow screen the sidebar covers the page: it closes when a page was chosen.
  useEffect(() => {
    if (side.current?.matches(':popover-open')) side.current.hidePopover()
  }, [path])
  return (
    <aside class="side" id="side" popover="auto" ref={side}>
      <AccountSwitch />
      <button type="button" class="finder" onClick={onFind}>
        <Icon name="search" />
        Search or jump to
        <kbd>{navigator.platform.startsWith('Mac') ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      <nav aria-label="Pages">
        {pages.map(([group, entries]) => (
          <>
            <h2>{group}</h2>
            {entries.map(({ to, title, icon }) => (
              <Link key={to} to={to} current={to === `/${current}`}>
                <Icon name={icon} />
                {title}
              </Link>
            ))}
          </>
        ))}
      </nav>
      <div class="foot">
        <ThemeChoice />
        <Person />
      </div>
    </aside>
  )
}

function AccountSwitch() {
  const { viewer, refresh } = useHome()
  const { act } = useAction()
  const own = viewer.accounts.find((each) => each.accountId === viewer.accountId)
  const name = (
    <>
      <Mark />
      <span class="cut">
        {own?.name}
        <small>{capital(viewer.role)}</small>
      </span>
    </>
  )
  if (viewer.accounts.length < 2) return <div class="account">{name}</div>
  const switchTo = (accountId: string) =>
    act(async () => {
      await api['session.switch']({ accountId })
      await refresh()
      navigate('/devices')
    })
  return (
    <Menu
      kind="account"
      summary={
        <>
          {name}
          <Icon name="chevrons-up-down" />
        </>
      }
    >
      {viewer.accounts.map(({ accountId, name }) => (
        <li key={accountId}>
          <button type="button" onClick={() => switchTo(accountId)}>
            <Icon name={accountId === viewer.accountId ? 'check' : 'users'} />
            <span class="cut">{name}</span>
          </button>
        </li>
      ))}
    </Menu>
  )
}

const themeNames: Readonly<Record<Theme, readonly [string, IconName]>> = {
  light: ['Light', 'sun'],
  dark: ['Dark', 'moon'],
  '': ['Like the system', 'monitor'],
}

function ThemeChoice() {
  const [theme, choose] = useTheme()
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a legend.
    <div class="seg" role="group" aria-label="Theme">
      {themes.map((each) => (
        <button
          key={each}
          type="button"
          aria-pressed={theme === each}
          aria-label={themeNames[each][0]}
          title={themeNames[each][0]}
          onClick={() => choose(each)}
        >
          <Icon name={themeNames[each][1]} />
        </button>
      ))}
    </div>
  )
}

function Person() {
  const { viewer, refresh } = useHome()
  const { act } = useAction()
  const signOut = () =>
    act(async () => {
      await api['session.end']()
      await refresh()
    })
  return (
    <Menu
      kind="account"
      summary={
        <>
          <span class="avatar" aria-hidden="true">
            {viewer.email.slice(0, 2).toUpperCase()}
          </span>
          <span class="cut">{viewer.email}</span>
          <Icon name="ellipsis" />
        </>
      }
    >
      <li>
        <Link to="/account">
          <Icon name="shield-check" />
          Your account
        </Link>
      </li>
      <li>
        <button type="button" onClick={signOut}>
          <Icon name="log-out" />
          Sign out
        </button>
      </li>
    </Menu>
  )
}
