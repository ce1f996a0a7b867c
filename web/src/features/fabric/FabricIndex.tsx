import { useQuery } from "@tanstack/react-query";
import { Navigate } from "@tanstack/react-router";
import { fabricsQuery } from "../../api/queries";
import { Empty, Failure, Waiting } from "../../components/Notice";
import { currentMachine, machineStore } from "../../lib/machine";
import { useStore } from "../../lib/store";

/** /fabric without a machine: the one last looked at. */
export function FabricIndex() {
  const fabrics = useQuery(fabricsQuery());
  const remembered = useStore(machineStore);
  if (fabrics.error && !fabrics.data)
    return <Failure page error={fabrics.error} retry={() => void fabrics.refetch()} />;
  if (!fabrics.data) return <Waiting what="the machines" />;
  const machine = currentMachine(fabrics.data.items, remembered);
  if (machine) return <Navigate to="/fabric/$fabric" params={{ fabric: machine.name }} replace />;
  return (
    <Empty page title="No machines yet">
      Start the twin with <code>flitwatch up</code>, or read a topology with <code>flitwatch import fabric FILE</code>.
    </Empty>
  );
}
