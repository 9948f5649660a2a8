/** Buttons for the pages of a list. Pages and rows are counted from 0 and 1. */
export default function Pager(props: {
  first: number
  last: number
  total: number
  page: number
  pages: number
  onPage: (page: number) => void
}) {
  const { first, last, total, page, pages, onPage } = props
  return (
    <footer>
      <span class="num">
        {first.toLocaleString('en')}–{last.toLocaleString('en')} of {total.toLocaleString('en')}
      </span>
      <span class="push" />
      <button type="button" class="btn" disabled={page === 0} onClick={() => onPage(page - 1)}>
        Previous
      </button>
      <button type="button" class="btn" disabled={page + 1 >= pages} onClick={() => onPage(page + 1)}>
        Next
      </button>
    </footer>
  )
}
