import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'
import { Link } from './link.tsx'

export interface Tab {
  readonly to: string
  readonly title: string
  readonly count?: number | undefined
}

/** A view: its title is that of the page, and is read out when the view opens. */
export function View(props: {
  title: string
  /** Under the title: one line: what the page is, or the state of the thing. */
  about?: ComponentChildren
  /** The page above: its address and title. */
  parent?: readonly [to: string, title: string]
  /** Buttons beside the title. */
  actions?: ComponentChildren
  tabs?: readonly Tab[]
  /** Address of the tab that is shown. */
  tab?: string
  error?: string | undefined
  children: ComponentChildren
}) {
  const { title, about, parent, actions, tabs, tab, error, children } = props
  const heading = useRef<HTMLHeadingElement>(null)
  // Before a person can type: later, it would take the focus from a field.
  useLayoutEffect(() => {
    document.title = `${title} · Selvedge`
    heading.current?.focus()
  }, [title])
  return (
    <>
      <div>
        {parent && <Crumbs parent={parent} title={title} />}
        <div class="head">
          <div>
            <h1 ref={heading} tabIndex={-1}>
              {title}
            </h1>
            {about && <div class="about">{about}</div>}
          </div>
          {actions && <div class="line tight">{actions}</div>}
        </div>
      </div>
      {tabs && <Tabs tabs={tabs} current={tab} />}
      {error && (
        <p class="error" role="alert">
          <Icon name="triangle-alert" />
          {error}
        </p>
      )}
      {children}
    </>
  )
}

function Crumbs({ parent: [to, title], title: own }: { parent: readonly [string, string]; title: string }) {
  return (
    <nav class="crumbs" aria-label="Breadcrumb">
      <Link to={to}>{title}</Link>
      <Icon name="chevron-right" />
      <span class="cut">{own}</span>
    </nav>
  )
}

function Tabs({ tabs, current }: { tabs: readonly Tab[]; current: string | undefined }) {
  return (
    <nav class="tabs" aria-label="Parts of this page">
      {tabs.map(({ to, title, count }) => (
        <Link key={to} to={to} current={to === current}>
          {title} {count !== undefined && <span class="faint">{count}</span>}
        </Link>
      ))}
    </nav>
  )
}

/** @param flush children reach the borders, as tables and rows do */
export function Card(props: {
  title?: string
  about?: ComponentChildren
  action?: ComponentChildren
  kind?: '' | 'danger-zone'
  flush?: boolean
  children: ComponentChildren
}) {
  const { title, about, action, kind = '', flush = false, children } = props
  return (
    <section class={`card ${kind}`}>
      {title && (
        <header>
          <h2>{title}</h2>
          {action && <div class="line push">{action}</div>}
          {about && <p>{about}</p>}
        </header>
      )}
      {flush ? children : <div class="body">{children}</div>}
    </section>
  )
}

/** What is wider than a narrow screen, and is moved there by finger or keyboard. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <section class="scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  )
}

/** What is missing, why it matters in one line, and one thing to do. */
export function Empty(props: { icon: IconName; title: string; text?: string; children?: ComponentChildren }) {
  const { icon, title, text, children } = props
  return (
    <div class="empty">
      <span class="glyph">
        <Icon name={icon} />
      </span>
      <h2>{title}</h2>
      {text && <p>{text}</p>}
      {children}
    </div>
  )
}

/** A page that has nothing but a reason, and one thing to do. */
export function Problem(props: { icon: IconName; title: string; text: string; children: ComponentChildren }) {
  const { icon, title, text, children } = props
  useEffect(() => {
    document.title = `${title} · Selvedge`
  }, [title])
  return (
    <div class="empty" role="alert">
      <span class="glyph">
        <Icon name={icon} />
      </span>
      <h1>{title}</h1>
      <p>{text}</p>
      {children}
    </div>
  )
}

export function Notice(props: {
  kind?: '' | 'warn' | 'bad'
  icon: IconName
  title: string
  text?: string
  children?: ComponentChildren
}) {
  const { kind = '', icon, title, text, children } = props
  return (
    <div class={`notice ${kind}`} role="status">
      <Icon name={icon} />
      <div>
        <strong>{title}</strong>
        {text && <p>{text}</p>}
      </div>
      {children}
    </div>
  )
}

/** Milliseconds after which a wait is shown: what comes at once must not flash. */
const skeletonMs = 200

/** The shape of what comes: lines of text, rows of a list, or a map above them. */
export function Bones({ of = 'text' }: { of?: 'text' | 'rows' | 'map' }) {
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), skeletonMs)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div class={`stack bones ${of}`} aria-busy="true">
      <span class="unseen" role="status">
        Loading…
      </span>
      {isShown && (
        <>
          {of === 'map' && <span class="map bone" />}
          {[1, 2, 3].map((each) => (
            <span key={each} class="bone" />
          ))}
        </>
      )}
    </div>
  )
}
