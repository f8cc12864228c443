#include "io/snapshot/record_shape.h"

namespace berth::io {

const RecordShape& record_shape(std::uint8_t type) {
  using Leaf = RecordShape::Leaf;
  static const RecordShape time{Leaf::time}, time_text{Leaf::time_text}, bytes{Leaf::bytes}, numbers{Leaf::numbers},
      dropped{Leaf::dropped}, unless_nil{Leaf::unless_nil}, embedded{Leaf::job}, free{Leaf::free};
  static const RecordShape plain;

  static const RecordShape driver{Leaf::plain, {{"UpdateTime", &time}, {"Attributes", &free}}};
  static const RecordShape drivers{Leaf::plain, {}, &driver};
  static const RecordShape csi_info{Leaf::plain, {{"UpdateTime", &time}}};
  static const RecordShape csi_infos{Leaf::plain, {}, &csi_info};
  static const RecordShape csi_info_text{Leaf::plain, {{"UpdateTime", &time_text}}};
  static const RecordShape csi_infos_text{Leaf::plain, {}, &csi_info_text};
  static const RecordShape event{Leaf::plain, {{"Timestamp", &time_text}, {"Details", &free}}};
  static const RecordShape drain{Leaf::plain, {{"ForceDeadline", &time}, {"StartedAt", &time}}};
  static const RecordShape last_drain{Leaf::plain,
                                      {{"StartedAt", &time_text}, {"UpdatedAt", &time_text}, {"Meta", &free}}};
  static const RecordShape topology{Leaf::plain, {{"Nodes", &numbers}, {"BusAssociativity", &dropped}}};
  static const RecordShape processors{Leaf::plain, {{"Topology", &topology}}};
  static const RecordShape node_resources{Leaf::plain, {{"Processors", &processors}}};
  static const RecordShape node{Leaf::plain,
                                {{"SecretID", &dropped},
                                 {"Attributes", &free},
                                 {"Meta", &free},
                                 {"Links", &free},
                                 {"Events", &event},
                                 {"Drivers", &drivers},
                                 {"CSIControllerPlugins", &csi_infos},
                                 {"CSINodePlugins", &csi_infos},
                                 {"DrainStrategy", &drain},
                                 {"LastDrain", &last_drain},
                                 {"NodeResources", &node_resources}}};

  static const RecordShape service{Leaf::plain, {{"VaultToken", &dropped}, {"ConsulToken", &dropped}, {"Meta", &free}}};
  static const RecordShape task{Leaf::plain,
                                {{"Config", &free},
                                 {"Env", &free},
                                 {"Meta", &free},
                                 {"Services", &service},
                                 {"VaultToken", &dropped},
                                 {"ConsulToken", &dropped}}};
  static const RecordShape group{
      Leaf::plain, {{"Tasks", &task}, {"Services", &service}, {"Meta", &free}, {"ConsulToken", &dropped}}};
  static const RecordShape job{Leaf::plain,
                               {{"Payload", &bytes},
                                {"Meta", &free},
                                {"TaskGroups", &group},
                                {"VaultToken", &dropped},
                                {"ConsulToken", &dropped}}};

  static const RecordShape task_state{Leaf::plain,
                                      {{"StartedAt", &time}, {"FinishedAt", &time}, {"LastRestart", &time}}};
  static const RecordShape task_states{Leaf::plain, {}, &task_state};
  static const RecordShape health{Leaf::plain, {{"Timestamp", &time}}};
  static const RecordShape alloc_state{Leaf::plain, {{"Time", &time}}};
  static const RecordShape allocation{Leaf::plain,
                                      {{"Job", &embedded},
                                       {"SignedIdentities", &dropped},
                                       {"TaskStates", &task_states},
                                       {"DeploymentStatus", &health},
                                       {"AllocStates", &alloc_state}}};

  static const RecordShape stub_state{
      Leaf::plain, {{"StartedAt", &time_text}, {"FinishedAt", &time_text}, {"LastRestart", &time_text}}};
  static const RecordShape stub_states{Leaf::plain, {}, &stub_state};
  static const RecordShape stub_health{Leaf::plain, {{"Timestamp", &time_text}}};
  static const RecordShape stub{
      Leaf::plain,
      {{"TaskStates", &stub_states}, {"DeploymentStatus", &stub_health}, {"AllocatedResources", &unless_nil}}};
  static const RecordShape annotations{Leaf::plain, {{"PreemptedAllocs", &stub}}};
  static const RecordShape evaluation{
      Leaf::plain, {{"WaitUntil", &time}, {"LeaderACL", &dropped}, {"PlanAnnotations", &annotations}}};

  static const RecordShape deployment_state{Leaf::plain, {{"RequireProgressBy", &time}}};
  static const RecordShape deployment_states{Leaf::plain, {}, &deployment_state};
  static const RecordShape deployment{Leaf::plain, {{"TaskGroups", &deployment_states}}};

  static const RecordShape mount_options{Leaf::plain, {{"MountFlags", &dropped}}};
  static const RecordShape csi_volume{Leaf::plain,
                                      {{"Secrets", &dropped},
                                       {"Parameters", &dropped},
                                       {"Context", &dropped},
                                       {"MountOptions", &mount_options},
                                       {"ResourceExhausted", &time}}};
  static const RecordShape csi_plugin{Leaf::plain, {{"Controllers", &csi_infos_text}, {"Nodes", &csi_infos_text}}};
  static const RecordShape hashed{Leaf::plain, {{"Hash", &bytes}, {"Meta", &free}}};
  static const RecordShape host_volume{Leaf::plain, {{"Parameters", &free}, {"Secrets", &dropped}}};

  switch (type) {
    case 0:
      return node;
    case 1:
    case 9:
      return job;
    case 3:
      return evaluation;
    case 4:
      return allocation;
    case 10:
      return deployment;
    case 17:
      return csi_plugin;
    case 18:
      return csi_volume;
    case 28:
    case 64:
      return hashed;
    case 31:
      return host_volume;
    default:
      return plain;
  }
}

}  // namespace berth::io
