import type { ComponentChildren } from 'preact'
import { navigate } from '../state/route.ts'

/** A link inside the console: it behaves like any link, and does not load the page again. */
export function Link(props: {
  to: string
  current?: boolean
  class?: string
  label?: string
  children: ComponentChildren
}) {
  const { to, current, class: kind, label, children } = props
  const onClick = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    navigate(to)
  }
  return (
    <a
      href={to}
      class={kind}
      aria-label={label}
      onClick={onClick}
      {...(current && { 'aria-current': 'page' as const })}
    >
      {children}
    </a>
  )
}
