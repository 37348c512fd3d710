import { useNavigate } from '@tanstack/react-router';
import { Play } from 'lucide-react';
import { Button } from '../../components/Button';
import { CurvePicture } from '../../components/Pictures';
import { ErrorState } from '../../components/States';
import { demoConfig } from '../../data/demo';
import { asFailure } from '../../data/failure';
import { useDatasets, useModels } from '../../data/library';
import { useStartRun } from '../../data/runs';
import styles from './DemoCard.module.css';

/** Real reinforcement learning in a few minutes, with what is bundled. */
export function DemoCard({ first }: { first: boolean }) {
  const models = useModels();
  const datasets = useDatasets();
  const start = useStartRun();
  const navigate = useNavigate();
  const loaded = models.data !== undefined && datasets.data !== undefined;
  const config = loaded ? demoConfig(models.data, datasets.data) : null;
  const failed = models.error ?? datasets.error;
  return (
    <section className={styles.card} aria-labelledby="demo-title">
      <div className={styles.text}>
        <h2 id="demo-title">The demo: a small model learns to carry</h2>
        <p>
          It adds numbers column by column and mostly forgets the carry. A reward for the right sum teaches it
          within a few minutes, on this machine.
        </p>
        {start.isError && (
          <ErrorState compact what="The demo could not start." error={asFailure(start.error)} />
        )}
        {failed !== null && (
          <ErrorState compact what="The bundled model cannot be read." error={asFailure(failed)} />
        )}
        {loaded && config === null && failed === null && (
          <p className={styles.missing}>The bundled model or its data are missing from this installation.</p>
        )}
        <Button
          kind={first ? 'primary' : 'secondary'}
          icon={<Play />}
          disabled={config === null}
          busy={start.isPending}
          onClick={() =>
            config !== null &&
            start.mutate(config, {
              onSuccess: ({ id }) => void navigate({ to: '/runs/$id', params: { id } }),
            })
          }
        >
          Run the demo
        </Button>
      </div>
      <div className={styles.picture} aria-hidden>
        <CurvePicture />
      </div>
    </section>
  );
}
