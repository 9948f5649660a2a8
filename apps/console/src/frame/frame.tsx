import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Icon } from '../parts/icon.tsx'
import { lazyView } from '../parts/lazy-view.tsx'
import { Link } from '../parts/link.tsx'
import { Mark } from '../parts/mark.tsx'
import { Toasts } from '../parts/toast.tsx'
import { useHome } from '../state/viewer.ts'
import { Nudge } from './nudge.tsx'
import { Sidebar } from './sidebar.tsx'

const Finder = lazyView(() => import('./finder.tsx'))

/** The frame of every page of a signed-in person. */
export function Frame({ current, children }: { current: string; children: ComponentChildren }) {
  const { viewer } = useHome()
  const [isFinding, setFinding] = useState(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'k' || !(event.metaKey || event.ctrlKey)) return
      event.preventDefault()
      setFinding(true)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  const find = () => setFinding(true)
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <div class="shell">
        <TopBar onFind={find} />
        <Sidebar current={current} onFind={find} />
        <main id="main" class="page" key={viewer.accountId}>
          <Nudge />
          {children}
        </main>
      </div>
      {isFinding && <Finder onClose={() => setFinding(false)} />}
      <Toasts />
    </>
  )
}

/** In place of the sidebar, where the window is narrow. */
function TopBar({ onFind }: { onFind: () => void }) {
  return (
    <header class="bar">
      <button type="button" class="btn square quiet" aria-label="Menu" title="Menu" popovertarget="side">
        <Icon name="menu" />
      </button>
      <Link to="/devices" class="word">
        <Mark />
        Selvedge
      </Link>
      <button type="button" class="btn square quiet push" aria-label="Search" title="Search" onClick={onFind}>
        <Icon name="search" />
      </button>
    </header>
  )
}
