import type { ComponentChildren } from 'preact'
import { navigate } from '../state/route.ts'

/** A link inside the console: it behaves like any link, and does not load the page again. */
export function Link({
  to,
  current,
  children,
}: {
  to: string
  current?: boolean
  children: ComponentChildren
}) {
  const onClick = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    navigate(to)
  }
  return (
    <a href={to} onClick={onClick} {...(current && { 'aria-current': 'page' as const })}>
      {children}
    </a>
  )
}
