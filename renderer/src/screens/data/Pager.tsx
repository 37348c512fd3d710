import { Button } from '../../components/Button';
import { formatCount } from '../../components/format';
import styles from './Pager.module.css';

export function Pager({
  page,
  size,
  total,
  onPage,
}: {
  page: number;
  size: number;
  total: number;
  onPage: (page: number) => void;
}) {
  if (total <= size) return null;
  return (
    <nav className={styles.pager} aria-label="Pages">
      <Button kind="quiet" disabled={page === 0} onClick={() => onPage(page - 1)}>
        Previous
      </Button>
      <span>
        {formatCount(page * size + 1)}–{formatCount(Math.min(total, (page + 1) * size))} of{' '}
        {formatCount(total)}
      </span>
      <Button kind="quiet" disabled={(page + 1) * size >= total} onClick={() => onPage(page + 1)}>
        Next
      </Button>
    </nav>
  );
}
