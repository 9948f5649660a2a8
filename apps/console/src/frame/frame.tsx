import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon } from '../parts/icon.tsx'
import { lazyView } from '../parts/lazy-view.tsx'
import { Link } from '../parts/link.tsx'
import { Mark } from '../parts/mark.tsx'
import { Toasts } from '../parts/toast.tsx'
import { useHome } from '../state/viewer.ts'
import { Nudge } from './nudge.tsx'
import { Sidebar } from './sidebar.tsx'

const Finder = lazyView(() => import('./finder.tsx'))

/** Opens the search. What is typed until its code is loaded is not lost. */
function useFinding() {
  const [isFinding, setFinding] = useState(false)
  const typed = useRef<string | undefined>(undefined)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isModified = event.metaKey || event.ctrlKey
      if (event.key === 'k' && isModified) {
        typed.current ??= ''
        setFinding(true)
      } else if (typed.current === undefined || isModified || event.key.length !== 1) return
      else typed.current += event.key
      event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return {
    isFinding,
    find: () => setFinding(true),
    close: () => setFinding(false),
    /** What was typed before the search was there. From now on, its field gets the keys. */
    takeTyped: () => {
      const text = typed.current ?? ''
      typed.current = undefined
      return text
    },
  }
}

/** The frame of every page of a signed-in person. */
export function Frame({ current, children }: { current: string; children: ComponentChildren }) {
  const { viewer } = useHome()
  const { isFinding, find, close, takeTyped } = useFinding()
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <div class="shell">
        <TopBar onFind={find} />
        <Sidebar current={current} onFind={find} />
        <main id="main" class="page" key={viewer.accountId}>
          <Nudge page={current} />
          {children}
        </main>
      </div>
      {isFinding && <Finder takeTyped={takeTyped} onClose={close} />}
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
