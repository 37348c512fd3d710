import { useNavigate } from '@tanstack/react-router';
import { useRef, useState, type FormEvent } from 'react';
import { Button } from '../../components/Button';
import { Dialog } from '../../components/Dialog';
import { Field } from '../../components/Field';
import { formatBytes, formatPercent } from '../../components/format';
import { TextInput } from '../../components/Input';
import { Progress } from '../../components/Progress';
import { ErrorState, SkeletonRows } from '../../components/States';
import { Table } from '../../components/Table';
import { asFailure } from '../../data/failure';
import { useHubFetch, useHubListing } from '../../data/library';
import styles from './HubDialog.module.css';

/** Data from the Hugging Face Hub: what there is and how large it is, before anything is fetched. */
export function HubDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [text, setText] = useState('');
  const [asked, setAsked] = useState<string | null>(null);
  const [share, setShare] = useState(0);
  const listing = useHubListing(asked);
  const fetching = useHubFetch(setShare);
  const abort = useRef<AbortController>(null);
  const navigate = useNavigate();
  const close = () => {
    abort.current?.abort();
    fetching.reset();
    onClose();
  };
  const find = (event: FormEvent) => {
    event.preventDefault();
    fetching.reset();
    setAsked(text.trim() || null);
  };
  const fetch = (reference: string) => {
    abort.current = new AbortController();
    setShare(0);
    fetching.mutate(
      { reference, signal: abort.current.signal },
      {
        onSuccess: ([first]) => {
          onClose();
          if (first) void navigate({ to: '/data/$id', params: { id: first.id } });
        },
      },
    );
  };
  const { repo = '', configs = [], freeBytes = 0 } = listing.data ?? {};
  const rows = configs.flatMap((config) =>
    config.splits.map((split) => ({
      ...split,
      config: config.name,
      reference: `${repo}:${config.name}:${split.name}`,
    })),
  );
  return (
    <Dialog
      wide
      open={open}
      onClose={close}
      title="Data from the Hub"
      description="The Hub's own Parquet copy is fetched into Atelier's data folder. What breaks off goes on where it was."
    >
      <form className={styles.form} onSubmit={find}>
        <Field label="Repository" help="owner/name, with :config and :split where you know them.">
          {(ids) => (
            <TextInput
              {...ids}
              value={text}
              placeholder="openai/gsm8k"
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        <Button type="submit" busy={listing.isFetching} disabled={text.trim() === ''}>
          Look up
        </Button>
      </form>
      {fetching.isPending ? (
        <div className={styles.progress}>
          <p>
            {fetching.variables.reference}: {formatPercent(share)}
          </p>
          <Progress value={share} label="Download" />
        </div>
      ) : fetching.isError ? (
        <ErrorState compact what="It was not fetched." error={asFailure(fetching.error)} />
      ) : null}
      {listing.isError ? (
        <ErrorState compact what="It cannot be listed." error={asFailure(listing.error)} />
      ) : listing.isLoading ? (
        <SkeletonRows rows={3} height={30} label="Asking the Hub" />
      ) : listing.data !== undefined ? (
        <div className={styles.found}>
          <Table
            label={`Splits of ${repo}`}
            rows={rows}
            rowKey={(row) => row.reference}
            columns={[
              { key: 'config', header: 'Config', cell: (row) => row.config },
              {
                key: 'split',
                header: 'Split',
                cell: (row) => `${row.name}${row.partial ? ', its beginning' : ''}`,
              },
              {
                key: 'bytes',
                header: 'Size',
                numeric: true,
                width: 90,
                cell: (row) => formatBytes(row.bytes),
              },
              {
                key: 'fetch',
                header: '',
                width: 84,
                cell: (row) => (
                  <Button
                    disabled={fetching.isPending}
                    onClick={() => fetch(row.reference)}
                    aria-label={`Fetch ${row.config}, ${row.name}`}
                  >
                    Fetch
                  </Button>
                ),
              },
            ]}
          />
          <p className={styles.note}>{formatBytes(freeBytes)} free on this disk.</p>
        </div>
      ) : null}
    </Dialog>
  );
}
